package probe

import (
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"dyno/agent/monotonic"
	"dyno/lab/probe/procfs"
	"dyno/lab/probe/usage"
)

// A connection that the server has not accepted waits in the accept queue of its listening socket.
func TestAcceptQueueOfThisProcess(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	const backlog = 17 // no other listener of this process has it
	if err := unix.Listen(fd, backlog); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: name.(*unix.SockaddrInet4).Port}
	for range 3 {
		c, err := net.DialTCP("tcp4", nil, &address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	if len(procfs.AcceptQueues()) == 0 {
		t.Skip("this kernel does not list its listening sockets (CONFIG_INET_DIAG)")
	}
	w, err := Watch(t.Context(), Options{Processes: usage.Processes{PID: os.Getpid(), Counters: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	begin := monotonic.Now()
	await(t, w, "the queue", func(k int64) bool {
		w.Server(k*window, time.Second)
		s := w.System(begin, monotonic.Now())
		return s.AcceptQueue == 3 && s.AcceptLimit == backlog && s.Switches+s.Preempted > 0 && s.TargetSystem <= s.TargetCPU
	})
}
