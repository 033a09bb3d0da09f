package procfs

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// between returns a line of /proc/net/tcp.
func between(local, remote, state, inode string) string {
	return "   0: " + local + " " + remote + " " + state + " 00000000:00000000 00:00000000 00000000  1000        0 " + inode + " 1 0 100\n"
}

func TestCalled(t *testing.T) {
	const all, proxy, client, backend, far = "00000000:0050", "0100007F:1F90", "0100007F:C001", "0100007F:C002", "08080808:0050"
	table := tableHead + between(proxy, "00000000:0000", "0A", "10") + // the target listens,
		between(proxy, client, "01", "11") + between(client, proxy, "01", "12") + // was called by a client,
		between(backend, "0100007F:0050", "01", "13") + // calls the socket that listens at all addresses,
		between(backend, "0100007F:0051", "06", "14") + // has closed another connection,
		between("0200000A:C003", far, "01", "15") + // and calls another machine, at a port that is used here as well.
		between(all, "00000000:0000", "0A", "20") + between("0100007F:0051", "00000000:0000", "0A", "21")
	of := map[uint64]bool{10: true, 11: true, 13: true, 14: true, 15: true}
	var got []string
	for _, s := range called(tcpSockets([]byte(table)), of) {
		got = append(got, s.Address.String())
		if s.Inode != 20 {
			t.Errorf("the listener's socket is %d", s.Inode)
		}
	}
	if want := []string{"127.0.0.1:80"}; !slices.Equal(got, want) {
		t.Errorf("it calls %q, want %q", got, want)
	}
	if got := called(tcpSockets([]byte(table)), nil); len(got) != 0 {
		t.Errorf("a process without sockets calls %+v", got)
	}
}

// A process that calls itself over loopback, another process, and one through a Unix socket.
func TestOutgoing(t *testing.T) {
	root := t.TempDir()
	net := filepath.Join(root, "proc", "7", "net")
	if err := os.MkdirAll(net, 0o755); err != nil {
		t.Fatal(err)
	}
	const itself, client, near, far = "0100007F:1F90", "0100007F:C001", "0100007F:C002", "08080808:01BB"
	tcp := tableHead + between(itself, "00000000:0000", "0A", "10") + // it listens,
		between(client, itself, "01", "11") + between(itself, client, "01", "12") + // calls itself,
		between(near, far, "01", "13") + // calls another machine,
		between(itself, "0100007F:C009", "01", "14") // and was called.
	unix := "Num       RefCount Protocol Flags    Type St Inode Path\n" +
		"0000000000000000: 00000003 00000000 00000000 0001 03 15\n" +
		"0000000000000000: 00000002 00000000 00010000 0001 01 16 /run/x\n" + // listens
		"0000000000000000: 00000003 00000000 00000000 0001 03 99\n" // another process's
	for name, table := range map[string]string{"tcp": tcp, "unix": unix} {
		if err := os.WriteFile(filepath.Join(net, name), []byte(table), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	of := map[uint64]bool{10: true, 11: true, 12: true, 13: true, 14: true, 15: true, 16: true}
	if own, others := Outgoing(root, 7, of); own != 1 || others != 2 {
		t.Errorf("%d to itself and %d to others, want 1 and 2", own, others)
	}
}

func FuzzCalled(f *testing.F) {
	f.Add([]byte(tableHead + between("0100007F:C002", "0100007F:0050", "01", "13") + between("00000000:0050", "00000000:0000", "0A", "20")))
	f.Fuzz(func(t *testing.T, table []byte) {
		sockets := tcpSockets(table)
		every := map[uint64]bool{}
		for _, s := range sockets {
			every[s.inode] = true
		}
		for _, s := range called(sockets, every) {
			if !slices.ContainsFunc(sockets, func(l tcpSocket) bool { return s.Inode != 0 && l.inode == s.Inode && l.state == listenHex }) {
				t.Errorf("%+v listens", s)
			}
		}
	})
}
