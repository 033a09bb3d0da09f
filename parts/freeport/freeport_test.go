package freeport

import (
	"net"
	"net/netip"
	"testing"
)

func TestLoopback(t *testing.T) {
	two, err := Loopback(2)
	if err != nil || two[0] == two[1] {
		t.Fatalf("%v %v", two, err)
	}
	a := two[0]
	if !a.Addr().IsLoopback() || a.Port() < First || a.Port() > Last {
		t.Fatal(a)
	}
	l, err := net.Listen("tcp", a.String())
	if err != nil {
		t.Fatalf("the port is not free: %v", err)
	}
	defer l.Close()
	if Check(a) == nil {
		t.Error("a port in use counts as free")
	}
}

// A port that was given is not given again, though nothing listens there yet.
func TestLoopbackReserves(t *testing.T) {
	given := map[netip.AddrPort]bool{}
	for range 20 {
		many, err := Loopback(50)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range many {
			if given[a] {
				t.Fatalf("%v is given twice", a)
			}
			given[a] = true
		}
	}
}

func TestNoHost(t *testing.T) {
	if a, err := On(netip.MustParseAddr("192.0.2.1")); err == nil { // no machine has this address
		t.Errorf("got %v", a)
	}
}
