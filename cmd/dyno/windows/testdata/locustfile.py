# Users whose load cannot be read in the file line by line: weights within users, tasks from a base
# class, a nested set of tasks, on_start, a fixed number of users, answers that the script judges.
from locust import HttpUser, TaskSet, between, task


class Spare(TaskSet):  # no user has it
    @task
    def spare(self):
        self.client.get("/spare")


class Base(HttpUser):
    abstract = True
    wait_time = between(0.02, 0.06)

    def on_start(self):
        self.client.get("/start/" + type(self).__name__)

    @task
    def inherited(self):
        self.client.get("/inherited/" + type(self).__name__)


class Reader(Base):
    @task(9)
    def read(self):
        self.client.get("/read")


class Writer(Base):
    @task(500)
    class Form(TaskSet):
        @task(3)
        def write(self):
            self.client.post("/write", json={"n": 1})

        @task
        def leave(self):
            self.interrupt()


class Admin(Base):
    fixed_count = 1

    @task
    def judged(self):
        with self.client.get("/admin", catch_response=True) as answer:
            answer.failure("200 is no success here")
        with self.client.get("/missing", catch_response=True) as answer:
            if answer.status_code == 404:
                answer.success()
