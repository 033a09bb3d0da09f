// Ordersd is the order gateway: order queries and submissions over PostgreSQL. This is wiring only: see
// services/orders.
package main

import (
	"dyno/parts/daemon"
	"dyno/services/orders"
	"dyno/services/orders/postgres"
)

func main() {
	postgres.Helper()
	daemon.Main(orders.Service())
}
