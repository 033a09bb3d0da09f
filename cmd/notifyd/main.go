// Notifyd accepts notices and delivers them as signed webhooks, in order per key. This is wiring
// only: see services/notify.
package main

import (
	"dyno/cmd/service"
	"dyno/services/notify"
)

func main() { service.Main(notify.Service(), sinkCommand(), apikeyCommand()) }
