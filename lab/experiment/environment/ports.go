package environment

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"dyno/lab/probe/procfs"
	"dyno/lab/probe/profiling"
)

// ports finds the addresses at which a process listens, if the process does not print them.
type ports struct {
	wanted int // 0: the only port, not counting one that serves net/http/pprof
	last   []netip.AddrPort
	since  time.Time // when last was first read
}

// settling is how long a process's addresses must stay the same. Within that time a process that
// prints a ready line has printed it, and a process with several addresses has bound them all.
const settling = 300 * time.Millisecond

// find returns the same fields as a ready line: listen, and debug if the process serves
// net/http/pprof. It returns nil until the process listens.
func (p *ports) find(ctx context.Context, pid int) (map[string]string, error) {
	at := p.stable(pid)
	if len(at) == 0 {
		return nil, nil
	}
	return p.fields(at, func(address string) bool {
		return profiling.Pprof(ctx, profiling.Address{URL: "http://" + address}) == nil
	})
}

// stable returns the addresses of a process once they have stayed the same for settling, and nil
// before.
func (p *ports) stable(pid int) []netip.AddrPort {
	at := procfs.Listens(pid)
	if !slices.Equal(at, p.last) {
		p.last, p.since = at, time.Now()
	}
	if time.Since(p.since) < settling {
		return nil
	}
	return at
}

// fields chooses the addresses for load and debugging from those of a process.
func (p *ports) fields(at []netip.AddrPort, profiled func(address string) bool) (map[string]string, error) {
	out, listen := map[string]string{}, []string{}
	for _, a := range at {
		address := a.String()
		debug := out["debug"] == "" && profiled(address)
		if debug {
			out["debug"] = address
		}
		switch {
		case p.wanted == int(a.Port()):
			out["listen"] = address
		case !debug:
			listen = append(listen, address)
		}
	}
	switch {
	case out["listen"] != "":
		return out, nil
	case p.wanted != 0:
		return nil, nil // it may still bind the port
	case len(listen) == 0:
		out["listen"] = out["debug"]
	case len(listen) == 1:
		out["listen"] = listen[0]
	default:
		return nil, fmt.Errorf("the target listens at %s, and it is not clear which of them to load: name the port (--port, or ready.port in a scenario)", strings.Join(listen, " and "))
	}
	return out, nil
}
