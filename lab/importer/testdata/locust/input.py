"""A shop.

It has users."""
import random
from locust import HttpUser, SequentialTaskSet, task, between, tag

PREFIX = "/api"
ITEM = 7
COUNT = 1
COUNT = 2


class Steps(SequentialTaskSet):
    @task
    def first(self):
        self.client.get("/first")


class Shop(HttpUser):
    host = "http://127.0.0.1:8080"
    wait_time = between(1, 5)
    weight = 2

    def on_start(self):
        self.client.post("/login", json={"user": "ada"})

    @task(3)
    @tag("read")
    def items(self):
        for page in range(3):
            self.client.get(f"{PREFIX}/items?page={page}", name="items")
        with self.client.get(f"{PREFIX}/items/{ITEM}", params={"full": True, "q": "a b"},
                             headers={"Accept": "text/html", "Authorization": f"Bearer {self.token}"},
                             catch_response=True) as response:
            if response.status_code != 200:
                response.failure("it's wrong")

    @task
    def order(self):
        # not self.client.get("/comment")
        self.client.post(
            "/orders",
            json={
                "item": ITEM, "note": 'fast ' "and good",
                "tags": ["a", None, -1.5],
            },
            verify=False,
        )
        self.client.post(PREFIX + "/form", {"a": 1, "b": "x y"})
        self.client.put("/raw", data="plain text", auth=("me", "s3cret"))
        self.client.get("/count/" + COUNT)
        self.client.delete(f"/orders/{random.randint(1, 9)}")
        self.client.request("PATCH", r"/raw\d", cookies={"theme": "dark"})
        self.client.post("/upload", files={"f": open("x")})

    def helper(self):
        self.client.get("/helper")

    @task
    def rest_call(self):
        with self.rest("GET", "/rest", json=None) as resp:
            pass
