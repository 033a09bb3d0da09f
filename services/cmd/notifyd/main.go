// Notifyd accepts notices and delivers them as signed webhooks, in order per key. This is wiring
// only: see services/notify.
package main

import (
	"dyno/parts/command"
	"dyno/services/notify"
)

func main() { command.Main(notify.Service(), sinkCommand(), apikeyCommand()) }
