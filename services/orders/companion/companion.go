// Package companion runs a PostgreSQL alone, beside the programs of a trial, and takes it down and
// up again when a caller asks for that over HTTP.
//
// It is not for a database that must stay up. Run owns the goroutine of its HTTP server, and waits
// for it.
package companion

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"dyno/agent"
	"dyno/services/orders/postgres"
)

// Companion says which PostgreSQL to run.
type Companion struct {
	Options postgres.Options
	Service string // its name in the ready line

	// Prepare fills the database, at each start, before the ready line. Nil: it stays as it is.
	Prepare func(ctx context.Context, dsn string) error
}

// Run serves until ctx ends or PostgreSQL ends on its own. It prints the ready line and closes the
// debug address.
func (c Companion) Run(ctx context.Context, debug net.Listener, ready io.Writer) (err error) {
	defer debug.Close()
	pg, err := postgres.Start(ctx, c.Options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pg.Stop(context.WithoutCancel(ctx))) }()
	if c.Prepare != nil {
		if err := c.Prepare(ctx, pg.DSN()); err != nil {
			return err
		}
	}
	o := &outages{pg: pg, ctx: ctx, turn: make(chan struct{}, 1), failed: make(chan error, 1)}
	server := &http.Server{Handler: agent.NewGuard("").Wrap(o.mux()), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(debug) }()
	defer func() {
		shutdown(server)
		<-served
	}()
	err = json.NewEncoder(ready).Encode(map[string]any{
		"ready": true, "service": c.Service, "listen": pg.Address(), "debug": debug.Addr().String(), "dsn": pg.DSN(), "pid": os.Getpid(),
	})
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-pg.Failed():
		return err
	case err := <-o.failed:
		return err
	}
}

// shutdown ends the debug server. An outage under way ends with the command's context, so that 10 s
// are enough.
func shutdown(server *http.Server) {
	grace, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if server.Shutdown(grace) != nil {
		server.Close()
	}
}
