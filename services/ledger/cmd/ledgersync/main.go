// Ledgersync downloads XRP Ledger history, proves it, stores it and serves it. This is wiring only:
// see services/ledger.
package main

import (
	"dyno/parts/command"
	"dyno/services/ledger"

	"github.com/spf13/cobra"
)

func main() { command.Main(ledger.Service(), commands()...) }

// commands are those beside serve and the jobs.
func commands() []*cobra.Command {
	return []*cobra.Command{verifyCommand(), checkCommand(), evidenceCommand(), exportCommand(), packCommand(), unpackCommand(), simCommand(), feedCommand(), templateCommand()}
}
