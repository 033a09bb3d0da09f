package procfs

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestListener(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", ":0", "[::1]:0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Logf("%s: %v", at, err) // a machine without IPv6
			continue
		}
		port := l.Addr().(*net.TCPAddr).Port
		addr := fmt.Sprintf("localhost:%d", port)
		if pid, err := Listener(addr); err != nil || pid != os.Getpid() {
			t.Errorf("%s, asked for %s: %d, %v; this is %d", l.Addr(), addr, pid, err, os.Getpid())
		}
		l.Close()
		if pid, err := Listener(addr); !errors.Is(err, ErrNoListener) {
			t.Errorf("closed %s: %d, %v", addr, pid, err)
		}
	}
}

// Of the processes that share a listening socket, Listener returns the one that was started first.
func TestListenerOfAFamily(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) {
		path = filepath.Join(root, "proc", path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write("self/net/tcp", tableHead+row("00000000:1F90", "0A", "12")+row("0100007F:1F90", "0A", "11"))
	open := func(pid, link string, began int) {
		write(pid+"/stat", fmt.Sprintf("%s (a (b) c) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d 9\n", pid, began))
		fd := filepath.Join(root, "proc", pid, "fd")
		if err := errors.Join(os.MkdirAll(fd, 0o755), os.Symlink(link, filepath.Join(fd, "3"))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := listener(root, "127.0.0.1:8080"); !errors.Is(err, ErrNoListener) || !strings.Contains(err.Error(), "another user") {
		t.Errorf("without a process: %v", err)
	}
	open("30", "socket:[12]", 1) // bound to all addresses; another socket is bound to the address itself
	open("40", "socket:[11]", 500)
	open("50", "socket:[11]", 400) // started before 40: process IDs have wrapped around
	open("60", "pipe:[11]", 300)
	if pid, err := listener(root, "127.0.0.1:8080"); err != nil || pid != 50 {
		t.Errorf("%d, %v, want 50", pid, err)
	}
}
