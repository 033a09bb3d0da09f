// Chaind is the permissioned chain node. This is wiring only: see services/chain.
package main

import (
	"os"

	"github.com/ethereum/go-ethereum/log"
	"github.com/spf13/cobra"

	"dyno/parts/command"
	"dyno/services/chain"
)

func main() {
	// Go-ethereum ends the process when its state cannot be written, after saying why in its log.
	log.SetDefault(log.NewLogger(log.NewTerminalHandlerWithLevel(os.Stderr, log.LevelError, false)))
	command.Main(chain.Service(), commands()...)
}

// commands are those beside the jobs.
func commands() []*cobra.Command {
	return []*cobra.Command{exportCommand(), checkCommand(), decodeCommand(), statetestCommand(), genCommand(), keyCommand(), devnetCommand()}
}
