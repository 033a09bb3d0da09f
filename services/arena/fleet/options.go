package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/pflag"
)

// minSecret is the least length of a secret, in bytes: who connects can try out secrets offline.
const minSecret = 32

// Flags are Options on a command line.
type Flags struct {
	URL string // --public-url, which the caller may fill in before Options

	node, cluster, secret string
	routes                []string
}

// Declare adds the flags to a set.
func (f *Flags) Declare(set *pflag.FlagSet) {
	set.StringVar(&f.node, "node", "", "`NAME` of this node among several; each has its own")
	set.StringVar(&f.URL, "public-url", "", "`URL` at which clients reach this node, as https://eu-1.example.com")
	set.StringVar(&f.cluster, "cluster", "", "`ADDRESS` at which other nodes connect")
	set.StringArrayVar(&f.routes, "route", nil, "`HOST:PORT` that is the --cluster of another node; repeatable, and one that runs is enough")
	set.StringVar(&f.secret, "cluster-secret", "", "`FILE` with what all nodes share: openssl rand -hex 32")
}

// Alone reports whether no flag asks for a fleet.
func (f *Flags) Alone() bool {
	return f.node+f.URL+f.cluster+f.secret == "" && len(f.routes) == 0
}

// Options reads what the flags name. The caller adds rooms and log.
func (f *Flags) Options() (o Options, err error) {
	o = Options{Node: f.node, URL: strings.TrimRight(f.URL, "/"), Cluster: f.cluster, Routes: f.routes, Beat: beat}
	if f.secret == "" {
		return o, errors.New("--cluster-secret: nodes prove by a shared secret that they belong together: make a file with openssl rand -hex 32, and name it here")
	}
	text, err := os.ReadFile(f.secret)
	if err != nil {
		return o, fmt.Errorf("--cluster-secret: %w", err)
	}
	o.Secret = bytes.TrimSpace(text)
	return o, o.check()
}

// identifier is a name of a node, room or topic: it is a part of a subject of NATS.
var identifier = regexp.MustCompile(fmt.Sprintf(`^[A-Za-z0-9_-]{1,%d}$`, maxID))

func (o Options) check() error {
	if !identifier.MatchString(o.Node) {
		return fmt.Errorf("--node: %q must be a name of 1 to %d letters, digits, - and _", o.Node, maxID)
	}
	if u, err := url.Parse(o.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || len(o.URL) > maxURL {
		return fmt.Errorf("--public-url: %q must be a URL as https://eu-1.example.com, of at most %d bytes", o.URL, maxURL)
	}
	if _, _, err := net.SplitHostPort(o.Cluster); err != nil {
		return fmt.Errorf("--cluster: %q must be an address as 10.0.0.1:7400: %w", o.Cluster, err)
	}
	for _, route := range o.Routes {
		if host, port, err := net.SplitHostPort(route); err != nil || host == "" || port == "" {
			return fmt.Errorf("--route: %q must be HOST:PORT, the --cluster of another node", route)
		}
	}
	if len(o.Secret) < minSecret {
		return fmt.Errorf("--cluster-secret: the secret has %d bytes, and must have %d or more: openssl rand -hex 32", len(o.Secret), minSecret)
	}
	return nil
}
