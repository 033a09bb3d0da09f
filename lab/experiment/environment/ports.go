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

// ports finds the addresses of a process that does not print them.
type ports struct {
	wanted int // 0: the only port, apart from one for net/http/pprof
	last   []netip.AddrPort
	since  time.Time // when last was seen for the first time
}

// settling is the time for which a process's addresses must stay the same: one that prints a ready
// line does it within this time, and one with several addresses has bound all of them.
const settling = 300 * time.Millisecond

// find returns the fields of a ready line: listen, and debug if the process serves net/http/pprof.
// nil: it does not listen yet.
func (p *ports) find(ctx context.Context, pid int) (map[string]string, error) {
	at := p.stable(pid)
	if len(at) == 0 {
		return nil, nil
	}
	return p.fields(at, func(address string) bool {
		return profiling.Pprof(ctx, profiling.Address{URL: "http://" + address}) == nil
	})
}

// stable returns the addresses of a process once they stay the same; nil: they do not yet.
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

// fields chooses from a process's addresses.
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
