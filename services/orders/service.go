// Package orders is the order gateway: it answers what became of an order, and takes new ones, over
// HTTP with a JWT, from PostgreSQL. An answer is as fresh as a query of one's own would be, and it
// is never another account's; what is acknowledged is committed together with its audit record.
//
// This package is the service: its command line and seams (Assembly), the PostgreSQL that it starts
// where it is given none, and the server that reads requests (package web), around the Gateway that
// answers them (package gateway).
//
// It is not a matching engine: orders change by what others write into the database. And there is
// no transaction over several shards.
//
// A running service owns its PostgreSQL, its release and its Gateway; Drain ends them and waits.
package orders

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"dyno/parts/assembly"
	"dyno/parts/daemon"
	"dyno/parts/datadir"
	"dyno/parts/httploop"
	"dyno/parts/lameduck"
	"dyno/services/orders/auth"
	"dyno/services/orders/database"
	"dyno/services/orders/gateway"
	"dyno/services/orders/message"
	"dyno/services/orders/postgres"
	"dyno/services/orders/release"
	"dyno/services/orders/web"

	"github.com/spf13/pflag"
)

// Service describes ordersd.
func Service() daemon.Service { return ServiceWith(func(*gateway.Config) {}) }

// ServiceWith describes ordersd with a change of its Config, made when it starts: the hook of
// exhibits (bench/claims), which put their own Around the handlers and their own Encoder in.
func ServiceWith(change func(*gateway.Config)) daemon.Service {
	f := flags{change: change}
	return daemon.Service{
		Name:  "ordersd",
		Short: "Answer order queries and take orders, over PostgreSQL, never stale and never another account's",
		Long: `Ordersd is the front of a trading system: it returns the state of an account's orders and takes new orders, as
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
		Data:     &datadir.Folder{Format: 1, Early: []string{auth.KeysFile, auth.KeysFile + ".new", postgresFolder}},
		Flags:    f.declare,
		Protocols: func(c assembly.Choice) []string {
			if c.Get("web") == "nethttp" {
				return []string{"h2", "http/1.1"}
			}
			return []string{"http/1.1"}
		},
		Start: f.start,
	}
}

// flags are ordersd's own.
type flags struct {
	dsns, owners     []string
	replica          string
	keys             string
	audience, issuer string
	postgresBin      string
	change           func(*gateway.Config)
}

func (f *flags) declare(set *pflag.FlagSet) {
	set.StringArrayVar(&f.dsns, "dsn", nil, "PostgreSQL to use, as a `URL` or keyword=value, several hosts in one for a primary and its standbys; repeated: one for each shard, always in the same order")
	set.StringArrayVar(&f.owners, "owner-dsn", nil, "the same database as `URL` of its owner, who brings the schema up to date, gives the role of --dsn the few rights that a gateway needs, and drops what is past audit_retention; repeated as --dsn is. Without it the role of --dsn does that")
	set.StringVar(&f.replica, "replica", "", "`URL` of a replica that answers reads with min_version, if it has that version")
	set.StringVar(&f.keys, "jwt-keys", "", "JWKS `FILE` with the keys of tokens (oct, RSA, OKP, each with kid; others are skipped), read again when it changes; without it jwks.json in the data folder, which is made")
	set.StringVar(&f.audience, "jwt-audience", "", "tokens must be for this `NAME` (aud)")
	set.StringVar(&f.issuer, "jwt-issuer", "", "tokens must be from this `NAME` (iss)")
	set.StringVar(&f.postgresBin, "postgres-bin", "", "`FOLDER` with initdb and postgres, instead of downloading them (without --dsn)")
}

func (f *flags) start(ctx context.Context, env *daemon.Env) (daemon.Running, error) {
	if err := f.check(); err != nil { // before anything is started
		return daemon.Running{}, daemon.Usage(err)
	}
	c := FromChoice(env.Choice)
	c.DSNs, c.Owners, c.Replica, c.Auth.Audience, c.Auth.Issuer, c.Log, c.Tracer = f.dsns, f.owners, f.replica, f.audience, f.issuer, env.Log, env.Tracer
	f.change(&c)
	var err error
	if c.Auth.File, err = f.keysOf(env.Data); err != nil {
		return daemon.Running{}, err
	}
	r := &running{env: env}
	if len(c.DSNs) == 0 {
		if err = r.startPostgres(ctx, f.postgresBin, &c); err != nil {
			return daemon.Running{}, err
		}
	}
	if err := r.start(ctx, c); err != nil {
		return daemon.Running{}, errors.Join(usage(err), r.stop(context.WithoutCancel(ctx)))
	}
	out := daemon.Running{Ready: r.gateway.Ready, WriteTimeout: env.ReadTimeout, Drain: r.stop}
	if c.Web == "nethttp" {
		out.Handler = r.gateway.HTTP(r.release.Wrap(r.gateway))
		return out, nil
	}
	if r.server, err = r.newServer(c); err != nil {
		return daemon.Running{}, errors.Join(err, r.stop(context.WithoutCancel(ctx)))
	}
	if l, ok := r.server.(*web.Loop); ok {
		err := errors.Join(gateway.ExposeAll(env, loopMetrics(l)), env.ExposeHandedOver(gateway.Prefix, handedOver, l.HandedOver))
		if err != nil {
			return daemon.Running{}, errors.Join(err, r.stop(context.WithoutCancel(ctx)))
		}
	}
	r.server.Start(env.Listen, env.Connections, env.Fail)
	out.Front = r.server
	return out, nil
}

// check refuses flags that cannot go together.
func (f *flags) check() error {
	switch {
	case slices.Contains(f.dsns, ""):
		return errors.New("--dsn is empty; give a URL such as postgres://user@host:5432/orders, or leave it out for a PostgreSQL of its own")
	case len(f.owners) > 0 && len(f.owners) != len(f.dsns):
		return fmt.Errorf("--owner-dsn is given %d times and --dsn %d times; give both for each database, in the same order", len(f.owners), len(f.dsns))
	case len(f.dsns) > 1 && f.replica != "":
		return errors.New("--replica can only stand beside a single --dsn, not beside several shards")
	}
	return nil
}

// usage marks an error that other flags avoid: of a DSN, or of the file of keys.
func usage(err error) error {
	if errors.Is(err, database.ErrOptions) || errors.Is(err, auth.ErrKeys) {
		return daemon.Usage(err)
	}
	return err
}

// server serves the public address instead of net/http.
type server interface {
	Start(l net.Listener, under *lameduck.Listener, failed func(error))
	daemon.Front
}

// newServer puts the gateway on event loops or on fasthttp, which also stands in where there can be
// no loops: beyond Linux.
func (r *running) newServer(c gateway.Config) (server, error) {
	handler := web.Guarded(r.release.Wrap(r.gateway), r.env.Guard)
	o := web.FastOptions{MaxBody: message.MaxSize, MaxConnections: c.MaxConnections, ClientTimeout: r.env.ReadTimeout, Log: r.env.Log, Trace: r.gateway.Trace()}
	if c.Web != "loop" {
		return web.NewFast(handler, o), nil
	}
	loops := web.LoopOptions{FastOptions: o, TLS: r.env.TLS, Guard: r.env.Guard, Loops: cmp.Or(c.Loops, max(1, runtime.GOMAXPROCS(0)/2)), MaxConcurrent: c.MaxInFlight}
	if b := r.gateway.Beginner(loops.Loops); b != nil {
		loops.Begin = func(loop int, call *web.Call) string {
			if !r.release.Idle() {
				return "release"
			}
			return b.Begin(loop, call)
		}
		loops.Tick = b.Tick
	}
	l, err := web.NewLoop(handler, loops)
	switch {
	case errors.Is(err, httploop.ErrUnsupported):
		r.env.Log.Info("fasthttp serves this address, as there are no event loops (web=loop) on this system")
		return web.NewFast(handler, o), nil
	case err != nil:
		return nil, err
	}
	return l, nil
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
	postgres *postgres.Server // nil: not started by this process
	gateway  *gateway.Gateway
	release  *release.Release
	server   server // nil: net/http, which parts/daemon serves
	watched  chan struct{}
	stopping chan struct{}
}

const (
	Database = "orders" // of the embedded PostgreSQL, and the name of its owner

	postgresFolder = "postgres"              // in the data folder; the command seed knows it, too
	prefixRelease  = "/debug/orders/release" // where releases are steered, on the debug address
)

// startPostgres starts it and has c name its databases: as its owner, and as a role that may do
// what a gateway does.
func (r *running) startPostgres(ctx context.Context, bin string, c *gateway.Config) (err error) {
	if os.Geteuid() == 0 { // PostgreSQL runs as another user then, which must be able to enter its folder, and no other
		if err := os.Chmod(r.env.Data, 0o751); err != nil {
			return err
		}
	}
	r.postgres, err = postgres.Start(ctx, postgres.Options{Folder: filepath.Join(r.env.Data, postgresFolder), Bin: bin, Database: Database, Progress: os.Stderr, Log: r.env.Log})
	if err != nil {
		return err
	}
	r.watched, r.stopping = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(r.watched)
		select {
		case err := <-r.postgres.Failed():
			r.env.Fail(fmt.Errorf("the database ended unexpectedly: %w; what is committed is safe: start again", err))
		case <-r.stopping:
		}
	}()
	gateway, err := r.postgres.Role(ctx, "orders_gateway")
	if err != nil {
		return errors.Join(err, r.stop(context.WithoutCancel(ctx)))
	}
	c.DSNs, c.Owners = []string{gateway}, []string{r.postgres.DSN()}
	return nil
}

func (r *running) start(ctx context.Context, c gateway.Config) (err error) {
	if r.gateway, err = gateway.New(ctx, c); err != nil {
		return err
	}
	if r.release, err = release.New(release.Usual(r.env.Log)); err != nil {
		return err
	}
	r.env.Board("/debug/orders/", board)
	r.env.Requests("orders_request_seconds")
	r.env.Debug.Handle(prefixRelease, r.release.Handler())
	r.env.Debug.Handle(prefixRelease+"/", r.release.Handler())
	if err := gateway.ExposeAll(r.env, releaseMetrics(r.release)); err != nil {
		return err
	}
	return r.gateway.Expose(r.env)
}

// stop ends everything, the last first; what does not end in time is cut off.
func (r *running) stop(ctx context.Context) (err error) {
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
