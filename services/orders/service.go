// Package orders is the order gateway: it answers what became of an order, and takes new ones, over HTTP with a
// JWT, from PostgreSQL. An answer is as fresh as a query of one's own would be, and it is never another
// account's; what is acknowledged is committed together with its audit record.
//
// A request goes through its route's chain (chain.go: measured, authenticated, admitted) to a handler
// (gateway.go, submit.go), and from there through the caches, if any, and a breaker to the store
// (services/orders/store). What is built how is a Config of names: see Assembly. Both HTTP servers call the same
// Gateway (services/orders/web).
//
// It is not a matching engine: orders change by what others write into the database. And there is no transaction
// over several shards.
//
// A Gateway owns its store, its caches and the workers of its dispatch; Close ends them and waits.
package orders

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

	"dyno/parts/daemon"
	"dyno/services/orders/auth"
	"dyno/services/orders/postgres"
	"dyno/services/orders/release"
	"dyno/services/orders/store"
	"dyno/services/orders/web"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Service describes ordersd.
func Service() daemon.Service {
	var f flags
	return daemon.Service{
		Name:  "ordersd",
		Short: "Answer order queries and take orders, over PostgreSQL, never stale and never another account's",
		Long: `Ordersd is the front of a trading system: it tells an account what became of its orders and takes new ones, as
JSON, ISO 20022 pacs.008 or FIX 4.4. Callers show a JWT. Queries that wait at the same moment share one statement, so
that it carries several times what a query for each request does, and every answer is still as fresh as a query of
its own.

Without --dsn it starts a PostgreSQL of its own below --data, which it downloads once. Without --jwt-keys it makes a
key there: "ordersd token" signs with it.`,
		Example: `  ordersd serve --listen 127.0.0.1:8080 --debug 127.0.0.1:8081 --data ordersd-data
  ordersd seed --rows 100000
  curl -H "Authorization: Bearer $(ordersd token --sub A7)" 'http://127.0.0.1:8080/api/v1/order?uid=7'
  ordersd serve --dsn postgres://orders@db1,db2/orders --jwt-keys /etc/ordersd/jwks.json`,
		Assembly: Assembly(),
		Data:     &daemon.DataFolder{Format: 1, Early: []string{auth.KeysFile, auth.KeysFile + ".new", postgresFolder}},
		Commands: []*cobra.Command{auth.TokenCommand(), auth.FeedCommand(), store.SeedCommand(), postgres.Command(store.Prepare)},
		Flags:    f.declare,
		Protocols: func(c daemon.Choice) []string {
			if c.Get("server") == "fasthttp" {
				return []string{"http/1.1"}
			}
			return []string{"h2", "http/1.1"}
		},
		Start: f.start,
	}
}

// flags are ordersd's own.
type flags struct {
	dsns             []string
	replica          string
	keys             string
	audience, issuer string
	postgresBin      string
}

func (f *flags) declare(set *pflag.FlagSet) {
	set.StringArrayVar(&f.dsns, "dsn", nil, "PostgreSQL to use, as a `URL` or keyword=value, several hosts in one for a primary and its standbys; repeated: one for each shard, always in the same order")
	set.StringVar(&f.replica, "replica", "", "`URL` of a replica that answers reads with min_version, if it has that version")
	set.StringVar(&f.keys, "jwt-keys", "", "JWKS `FILE` with the keys of tokens (oct, RSA, OKP, each with kid and alg), read again when it changes; without it jwks.json in the data folder, which is made")
	set.StringVar(&f.audience, "jwt-audience", "", "tokens must be for this `NAME` (aud)")
	set.StringVar(&f.issuer, "jwt-issuer", "", "tokens must be from this `NAME` (iss)")
	set.StringVar(&f.postgresBin, "postgres-bin", "", "`FOLDER` with initdb and postgres, instead of downloading them (without --dsn)")
}

func (f *flags) start(ctx context.Context, env *daemon.Env) (daemon.Running, error) {
	if n := env.Choice.Int("gogc"); n > 0 {
		debug.SetGCPercent(n)
	}
	if n := env.Choice.Bytes("memory_limit"); n > 0 {
		debug.SetMemoryLimit(n)
	}
	c := FromChoice(env.Choice)
	c.DSNs, c.Replica, c.Audience, c.Issuer, c.Logger = f.dsns, f.replica, f.audience, f.issuer, env.Log
	if err := c.check(); err != nil { // before anything is started
		return daemon.Running{}, daemon.Usage(err)
	}
	if env.Tracer != nil {
		c.Tracer = env.Tracer
	}
	var err error
	if c.Keys, err = f.keysOf(env.Data); err != nil {
		return daemon.Running{}, err
	}
	r := &running{env: env}
	if len(c.DSNs) == 0 {
		if c.DSNs, err = r.startPostgres(ctx, f.postgresBin); err != nil {
			return daemon.Running{}, err
		}
	}
	if err := r.start(ctx, c); err != nil {
		return daemon.Running{}, errors.Join(err, r.stop(context.WithoutCancel(ctx)))
	}
	out := daemon.Running{Ready: r.gateway.Ready, WriteTimeout: env.ReadTimeout, Drain: r.stop}
	if c.Server == "nethttp" {
		out.Handler = r.gateway.handler(r.release.Wrap(r.gateway))
	} else {
		r.fast = web.NewFast(r.release.Wrap(r.gateway), web.FastOptions{MaxBody: maxBody, MaxConnections: c.MaxConnections, ClientTimeout: env.ReadTimeout, Log: env.Log, Trace: r.gateway.trace()})
		r.fast.Start(env.Listen, env.Fail)
	}
	return out, nil
}

// keysOf returns the file of keys, and makes one if none was named.
func (f *flags) keysOf(data string) (string, error) {
	if f.keys != "" {
		if _, err := os.Stat(f.keys); err != nil {
			return "", daemon.Usage(fmt.Errorf("--jwt-keys: %w; give a JWKS, or leave the flag out to have one made", err))
		}
		return f.keys, nil
	}
	file := filepath.Join(data, auth.KeysFile)
	return file, auth.Create(file)
}

// running is what a process runs.
type running struct {
	env      *daemon.Env
	postgres *postgres.Server // nil: somebody else's
	gateway  *Gateway
	release  *release.Release
	fast     *web.Fast // nil: net/http, which parts/daemon serves
	watched  chan struct{}
	stopping chan struct{}
}

// postgresFolder is where in the data folder the embedded PostgreSQL lies, for the command seed too.
const postgresFolder = "postgres"

func (r *running) startPostgres(ctx context.Context, bin string) (dsns []string, err error) {
	if os.Geteuid() == 0 { // PostgreSQL runs as somebody else then, who is to reach its own folder, and sees no other
		if err := os.Chmod(r.env.Data, 0o751); err != nil {
			return nil, err
		}
	}
	r.postgres, err = postgres.Start(ctx, postgres.Options{Folder: filepath.Join(r.env.Data, postgresFolder), Bin: bin, Progress: os.Stderr, Log: r.env.Log})
	if err != nil {
		return nil, err
	}
	r.watched, r.stopping = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(r.watched)
		select {
		case err := <-r.postgres.Failed():
			r.env.Fail(fmt.Errorf("the database ended by itself: %w; what is committed is safe: start again", err))
		case <-r.stopping:
		}
	}()
	return []string{r.postgres.DSN()}, nil
}

func (r *running) start(ctx context.Context, c Config) (err error) {
	if r.gateway, err = New(ctx, c); err != nil {
		return err
	}
	if r.release, err = release.New(release.Options{Log: r.env.Log}); err != nil {
		return err
	}
	r.env.Debug.Handle(prefixRelease, r.release.Handler())
	r.env.Debug.Handle(prefixRelease+"/", r.release.Handler())
	if err := exposeAll(r.env, releaseGauges(r.release)); err != nil {
		return err
	}
	return r.gateway.expose(r.env)
}

// prefixRelease is where releases are steered, on the debug address.
const prefixRelease = "/debug/orders/release"

// stop ends everything, the last first; what does not end in time is cut off.
func (r *running) stop(ctx context.Context) (err error) {
	if r.fast != nil {
		err = r.fast.Shutdown(ctx)
	}
	if r.release != nil {
		r.release.Close()
	}
	if r.gateway != nil {
		r.gateway.Close()
	}
	if r.postgres != nil {
		close(r.stopping)
		<-r.watched
		err = errors.Join(err, r.postgres.Stop(ctx))
	}
	return err
}
