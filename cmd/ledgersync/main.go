// Ledgersync downloads XRP Ledger history, proves it, stores it and serves it. This is wiring only: see
// services/ledger.
package main

import (
	"dyno/cmd/service"
	"dyno/services/ledger"
)

func main() {
	service.Main(ledger.Service(), verifyCommand(), checkCommand(), evidenceCommand(), exportCommand(), packCommand(), unpackCommand(), simCommand(), templateCommand())
}
