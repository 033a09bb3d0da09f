// Notifyd accepts notices and delivers them as signed webhooks, in order per key. This is wiring only:
// see services/notify.
package main

import (
	"dyno/parts/daemon"
	"dyno/services/notify"
	"dyno/services/notify/apikey"
	"dyno/services/notify/sink"

	"github.com/spf13/cobra"
)

func main() {
	s := notify.Service()
	s.Commands = []*cobra.Command{sink.Command(), apikey.Command()}
	daemon.Main(s)
}
