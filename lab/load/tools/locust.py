# Prints a line for each request that Locust counts. Each line is written in one piece and begins
# anew, so that those of several processes, and what a locustfile prints, do not mix.
import json
import os
import time

import gevent
from locust import events


def user_name():
    # Locust keeps a user in the arguments of its greenlet; requests may be sent by others that it spawned.
    greenlet = gevent.getcurrent()
    for _ in range(8):
        args = getattr(greenlet, "args", None)
        if args and hasattr(args[0], "environment"):
            user = args[0]
            if not hasattr(user, "_dyno_name"):
                user_name.count += 1
                user._dyno_name = "%d.%d" % (os.getpid(), user_name.count)
            return user._dyno_name
        parent = getattr(greenlet, "spawning_greenlet", None)
        greenlet = parent() if parent else None
        if greenlet is None:
            break
    return ""


user_name.count = 0


@events.request.add_listener
def on_request(response_time=0, response_length=0, response=None, exception=None, **_):
    line = {
        "dyno": "request",
        "t": time.time_ns(),
        "ms": response_time or 0,
        "user": user_name(),
        "status": getattr(response, "status_code", None) or 0,
        "failed": exception is not None,
        "error": repr(exception)[:200] if exception is not None else "",
        "bytes": int(response_length or 0),
    }
    os.write(1, ("\n" + json.dumps(line) + "\n").encode())


@events.init.add_listener
def on_init(environment, **_):
    environment.shape_class = None  # Dyno sets the number of users
