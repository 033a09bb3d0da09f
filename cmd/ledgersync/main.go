// Ledgersync downloads XRP Ledger history, proves it, stores it and serves it. This is wiring only: see
// services/ledger.
package main

import (
	"dyno/parts/daemon"
	"dyno/services/ledger"
)

func main() { daemon.Main(ledger.Service()) }
