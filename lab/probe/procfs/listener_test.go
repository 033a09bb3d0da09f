package procfs

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

const tableHead = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"

func row(local, state, inode string) string {
	return "   0: " + local + " 00000000:0000 " + state + " 00000000:00000000 00:00000000 00000000  1000        0 " + inode + " 1 0 100\n"
}

func TestListening(t *testing.T) {
	v4 := tableHead + row("0100007F:1F90", "0A", "11") + row("00000000:1F90", "0A", "12") + row("0100007F:1F90", "01", "13") +
		row("0100007F:1F91", "0A", "14") + row("0200007F:1F90", "0A", "15") + row("0100007F:1F90", "0A", "0")
	v6 := tableHead + row("00000000000000000000000001000000:1F90", "0A", "21") + row("00000000000000000000000000000000:1F90", "0A", "22") +
		row("0000000000000000FFFF00000100007F:1F90", "0A", "23")
	for _, tt := range []struct {
		addr, table string
		exact, all  []uint64
	}{
		{"127.0.0.1:8080", v4, []uint64{11}, []uint64{12}},
		{"127.0.0.1:8080", v6, []uint64{23}, []uint64{22}},
		{"127.0.0.2:8080", v4, []uint64{15}, []uint64{12}},
		{"127.0.0.1:8081", v4, []uint64{14}, nil},
		{"[::1]:8080", v4, nil, nil},
		{"[::1]:8080", v6, []uint64{21}, []uint64{22}},
		{"localhost:8080", v6, []uint64{21, 23}, []uint64{22, 22}},
		{"[::ffff:127.0.0.1]:8080", v4, []uint64{11}, []uint64{12}},
		{"127.0.0.1:80", v4, nil, nil},
	} {
		wanted, err := loopback(tt.addr)
		if err != nil {
			t.Fatal(err)
		}
		if exact, all := listening(tcpSockets([]byte(tt.table)), wanted); !slices.Equal(exact, tt.exact) || !slices.Equal(all, tt.all) {
			t.Errorf("%s: %v and %v, want %v and %v", tt.addr, exact, all, tt.exact, tt.all)
		}
	}
}

func TestListenerWantsLoopback(t *testing.T) {
	for addr, want := range map[string]string{
		"": "not an address", "127.0.0.1": "not an address", "127.0.0.1:http": "port by number", "127.0.0.1:0": "port by number",
		"127.0.0.1:65536": "port by number", "192.0.2.1:80": "not on loopback", "example.com:80": "not on loopback", ":80": "not on loopback",
	} {
		if pid, err := Listener(addr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %d, %v, want %q", addr, pid, err, want)
		}
	}
}

func TestSocketInode(t *testing.T) {
	for link, want := range map[string]uint64{"socket:[4711]": 4711, "socket:[]": 0, "socket:[5": 5, "pipe:[5]": 0, "/dev/null": 0, "": 0} {
		if got, ok := socketInode(link); got != want || ok != (want == 4711) {
			t.Errorf("%q: %d, %v", link, got, ok)
		}
	}
}

func FuzzListening(f *testing.F) {
	f.Add([]byte(tableHead+row("0100007F:1F90", "0A", "11")), uint16(8080))
	f.Add([]byte(row("00000000000000000000000000000000:0050", "0A", "3")), uint16(80))
	f.Fuzz(func(t *testing.T, table []byte, port uint16) {
		wanted := []netip.AddrPort{netip.AddrPortFrom(netip.IPv6Loopback(), port)}
		exact, all := listening(tcpSockets(table), wanted)
		if slices.Contains(exact, 0) || slices.Contains(all, 0) {
			t.Error("a socket without an inode")
		}
	})
}
