from locust import HttpUser, task, between

class Buyer(HttpUser):
    host = "http://127.0.0.1:8080"
    wait_time = between(0.1, 0.3)

    @task(3)
    def browse(self):
        items = self.client.get("/items?q=book").json()
        self.sku = items[0]["sku"]

    @task
    def buy(self):
        with self.client.post("/orders", json={"item": self.sku, "count": 2}, catch_response=True) as response:
            order = response.json()
        self.client.get(f"/orders/{order['id']}", name="/orders/[id]")
        response = self.client.post("/pay", json={"orderId": order["id"], "nonce": order["payment"].get("nonce")})

    def on_start(self):
        response = self.client.post("/login", json={"user": "ann", "password": "x"})
        token = response.json()["data"]["token"]
        self.client.headers.update({"Authorization": f"Bearer {token}"})
