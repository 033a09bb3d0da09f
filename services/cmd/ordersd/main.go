// Ordersd is the order gateway: order queries and submissions over PostgreSQL. This is wiring only:
// see services/orders.
package main

import (
	"dyno/parts/command"
	"dyno/services/orders"
	"dyno/services/orders/postgres/keeper"
)

func main() {
	keeper.Main()
	command.Main(orders.Service(), tokenCommand(), feedCommand(), seedCommand(), postgresCommand())
}
