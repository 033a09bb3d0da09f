package http1

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"dyno/lab/load"
	"dyno/lab/load/http1/wire"

	"golang.org/x/sys/unix"
)

func chooseBackend(wanted string) string {
	if wanted == BackendEpoll || !uringWorks() {
		return BackendEpoll
	}
	return BackendUring
}

// Drive carries out the plan. It fails only if the machine lacks what a sender needs.
func (d *Driver) Drive(ctx context.Context, p *load.Plan, rec *load.Recorder) error {
	address := d.resolve(ctx)
	n := d.threads(p.Connections)
	shards := rec.Shards(n)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for k := range n {
		wg.Go(func() { errs[k] = d.send(ctx, p, rec, shards[k], sockaddr(address), k, n) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// send is the main function of the k-th of n sending threads.
func (d *Driver) send(ctx context.Context, p *load.Plan, rec *load.Recorder, shard *load.Shard, address unix.Sockaddr, k, n int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer d.tune(p, rec)()
	s := &sender{driver: d, plan: p, rec: rec, shard: shard, requests: wire.Private(d.requests), depth: max(1, d.config.Pipeline), left: p.Share(k, n)}
	if p.Open() {
		s.schedule = load.Stride(p.Schedule(), k, n)
	}
	s.conns = make([]conn, (p.Connections-k+n-1)/n)
	for i := range s.conns {
		s.conns[i] = conn{index: int32(i), fd: -1, flights: make([]flight, s.depth)}
	}
	var err error
	if d.backend == BackendUring {
		s.back, err = newUring(s, address)
	} else {
		s.back, err = newEpoll(s, address)
	}
	if err != nil {
		return fmt.Errorf("starting a sending thread: %w", err)
	}
	s.run(ctx)
	return nil
}

// tune prepares the calling thread and returns a function that undoes it. If the kernel refuses a
// setting, that is no error: the send lag in the results shows the cost.
func (d *Driver) tune(p *load.Plan, rec *load.Recorder) (undo func()) {
	// The kernel may delay a timer by the thread's slack, 50 us by default; 0 restores the
	// default.
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	realtime := d.config.Realtime && p.Open() && setScheduler(schedRR, 1) == nil
	if realtime {
		rec.Realtime.Store(true)
	}
	return func() {
		unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0)
		if realtime {
			setScheduler(schedOther, 0)
		}
	}
}

// Scheduling policies of sched(7).
const (
	schedOther = 0
	schedRR    = 2
)

// setScheduler changes the calling thread's policy and priority.
func setScheduler(policy uint32, priority uint32) error {
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: policy, Priority: priority}
	return unix.SchedSetAttr(0, &attr, 0)
}

// resolve looks up the target. If the name has no address, every request will fail to connect.
func (d *Driver) resolve(ctx context.Context) netip.AddrPort {
	port, err := strconv.ParseUint(d.port, 10, 16)
	if err != nil {
		if p, lookupErr := net.DefaultResolver.LookupPort(ctx, "tcp", d.port); lookupErr == nil {
			port = uint64(p)
		}
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", d.host)
	if err != nil || len(ips) == 0 {
		return netip.AddrPort{}
	}
	// A name such as localhost often has both IPv4 and IPv6 addresses; services listen on IPv4 by
	// default.
	best := max(0, slices.IndexFunc(ips, func(ip netip.Addr) bool { return ip.Unmap().Is4() }))
	return netip.AddrPortFrom(ips[best].Unmap(), uint16(port))
}

// sockaddr converts an address for one thread, which reuses the result; nil stands for no
// address.
func sockaddr(a netip.AddrPort) unix.Sockaddr {
	if !a.IsValid() {
		return nil
	}
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	}
	out := &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
	if zone := a.Addr().Zone(); zone != "" {
		if n, err := strconv.Atoi(zone); err == nil {
			out.ZoneId = uint32(n)
		} else if i, err := net.InterfaceByName(zone); err == nil {
			out.ZoneId = uint32(i.Index)
		}
	}
	return out
}
