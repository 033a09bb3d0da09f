package fleet

import (
	"context"
	"io"
	"net"
	"net/netip"
	"strconv"
	"sync"

	"dyno/parts/daemon"
	"dyno/parts/doors"
	"dyno/parts/relay"
)

// door is where other nodes connect. NATS opens its own listener and does not bound how many
// connections wait there to prove something, so it listens on loopback, behind a relay that does.
type door struct {
	listener net.Listener
	stop     context.CancelFunc
	serving  sync.WaitGroup
}

// perLink is the descriptors of one connection: two of the relay, and one of NATS.
const perLink = 3

// open listens at the address of --cluster.
func open(o Options) (*door, error) {
	bound := doors.Private("cluster", o.Log)
	bound.Most = (bound.Most + perLink - 1) / perLink
	l, err := daemon.Listen(o.Cluster, bound)
	if err != nil {
		return nil, err
	}
	return &door{listener: l, stop: func() {}}, nil
}

// lead carries connections to an address until close.
func (d *door) lead(to string, o Options) {
	ctx, stop := context.WithCancel(context.Background())
	d.stop = stop
	d.serving.Go(func() { relay.Serve(ctx, d.listener, relay.Options{To: to, Log: o.Log}, carry) })
}

func (d *door) close() {
	d.stop()
	d.listener.Close()
	d.serving.Wait()
}

// carry passes bytes on in both directions until one end hangs up.
func carry(ctx context.Context, _ uint64, client, server net.Conn) {
	hangUp := func() { client.Close(); server.Close() }
	defer context.AfterFunc(ctx, hangUp)()
	var back sync.WaitGroup
	back.Go(func() {
		defer hangUp()
		io.Copy(client, server)
	})
	io.Copy(server, client)
	hangUp()
	back.Wait()
}

// address is what other nodes are given to connect to. Where --cluster names no address, it is that
// from which this machine reaches the first route, or else its first one beyond loopback.
func (d *door) address(routes []string) string {
	at := d.listener.Addr().(*net.TCPAddr).AddrPort()
	host := at.Addr().Unmap()
	if host.IsUnspecified() {
		host = own(routes)
	}
	return net.JoinHostPort(host.String(), strconv.Itoa(int(at.Port())))
}

func own(routes []string) netip.Addr {
	for _, r := range routes {
		if c, err := net.Dial("udp", r); err == nil { // sends nothing
			defer c.Close()
			return c.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap()
		}
	}
	all, _ := net.InterfaceAddrs()
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().IsGlobalUnicast() {
			return p.Addr()
		}
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}
