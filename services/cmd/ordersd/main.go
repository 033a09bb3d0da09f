// Ordersd is the order gateway: order queries and submissions over PostgreSQL. This is wiring only:
// see services/orders.
package main

import (
	"dyno/parts/command"
	"dyno/services/orders"
	"dyno/services/orders/postgres"
)

func main() {
	postgres.KeeperMain()
	command.Main(orders.Service(), tokenCommand(), feedCommand(), seedCommand(), postgresCommand())
}
