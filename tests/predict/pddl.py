"""A planner for the problems that `heddle predict --pddl` writes: it knows nothing but the language, and tries everything."""
import re


def parse(text):
    """Nested lists of the words."""
    stack = [[]]
    for word in re.findall(r"[()]|[^\s()]+", re.sub(r";.*", "", text)):
        if word == "(":
            stack.append([])
        elif word == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(word)
    return stack[0][0]


def holds(condition, state):
    word = condition[0]
    if word == "and":
        return all(holds(c, state) for c in condition[1:])
    if word == "or":
        return any(holds(c, state) for c in condition[1:])
    if word == "not":
        return not holds(condition[1], state)
    return word in state


def names(expression, out):
    for part in expression:
        if isinstance(part, list):
            names(part, out)
        elif part not in ("and", "or", "not"):
            out.add(part)
    return out


def solvable(domain, problem):
    """Whether some sequence of actions leads to the goal."""
    domain, problem = parse(domain), parse(problem)
    sections = {part[0]: part[1:] for part in domain if isinstance(part, list) and part[0] != ":action"}
    known = {p[0] for p in sections[":predicates"]}
    actions = [{key: part[i + 1] for i, key in enumerate(part) if key in (":precondition", ":effect")}
               for part in domain if part[0] == ":action"]
    question = {part[0]: part[1:] for part in problem if isinstance(part, list)}
    used = names([a[key] for a in actions for key in a], set()) | names(question[":goal"], set())
    assert used <= known, used - known
    start = frozenset(f[0] for f in question[":init"])
    assert start <= known, start - known
    seen, work = {start}, [start]
    while work:
        state = work.pop()
        if holds(question[":goal"][0], state):
            return True
        for a in actions:
            if not holds(a[":precondition"], state):
                continue
            effects = a[":effect"][1:]
            after = frozenset((state - {e[1][0] for e in effects if e[0] == "not"}) | {e[0] for e in effects if e[0] != "not"})
            if after not in seen:
                seen.add(after)
                work.append(after)
    return False
