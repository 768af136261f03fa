"""Never answers, and keeps the processor busy."""


def before_act(context, action):
    while True:
        pass
