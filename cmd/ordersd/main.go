// Ordersd is the order gateway: order queries and submissions over PostgreSQL. This is wiring only:
// see services/orders.
package main

import (
	"dyno/cmd/service"
	"dyno/services/orders"
	"dyno/services/orders/postgres"
)

func main() {
	postgres.Helper()
	service.Main(orders.Service(), tokenCommand(), feedCommand(), seedCommand(), postgresCommand())
}
