package procfs

import (
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"testing"
)

func TestListens(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	var want []netip.AddrPort
	for _, at := range []string{"127.0.0.1:0", ":0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		want = append(want, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), l.Addr().(*net.TCPAddr).AddrPort().Port()))
	}
	c, err := net.Dial("tcp", want[0].String()) // a connection is no listener
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got := Listens(os.Getpid())
	for _, at := range want {
		if !slices.Contains(got, at) {
			t.Errorf("%v lacks %v", got, at)
		}
	}
	if own := c.LocalAddr().(*net.TCPAddr).AddrPort(); slices.Contains(got, own) {
		t.Errorf("%v has the client's own address %v", got, own)
	}
	if got := Listens(1 << 30); got != nil {
		t.Errorf("a process that does not exist listens at %v", got)
	}
}
