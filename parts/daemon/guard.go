package daemon

import (
	"net/http"

	"github.com/spf13/pflag"

	"dyno/parts/guard"
)

// guarded decides which pages may call, and under which host names.
type guarded struct {
	origins, hosts []string
	public         *guard.Guard
}

func (g *guarded) declareOrigins(f *pflag.FlagSet) {
	f.StringArrayVar(&g.origins, "allow-origin", nil, "web pages of this `ORIGIN`, such as https://shop.example.com, may call the public address; repeatable, or a list with commas. Without it only pages from that address itself may")
}

func (g *guarded) declareHosts(f *pflag.FlagSet) {
	f.StringArrayVar(&g.hosts, "allow-host", nil, "clients may call this process by the `NAME`, in addition to IP addresses, names without a dot and the machine's name; repeatable, or a list with commas. *: any name, where a proxy checks it")
}

func (g *guarded) complete(addresses ...string) (err error) {
	g.public, err = guard.New(guard.Options{Origins: g.origins, Hosts: g.hosts, Listen: addresses})
	return Usage(err)
}

// guardDebug keeps other sites' pages off the debug address, including those that may call the
// public address.
func (g *guarded) guardDebug(h http.Handler) http.Handler { return g.public.Private().Wrap(h, nil) }
