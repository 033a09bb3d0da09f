package procfs

import (
	"strings"
	"testing"
)

func TestTask(t *testing.T) {
	stat, status := fixture(t, "task_stat"), fixture(t, "task_status")
	if s, err := BlockedIO(stat); !near(s, 2.45) || err != nil {
		t.Errorf("BlockedIO = %v, %v, want 2.45 s", s, err)
	}
	if s, err := BlockedIO(stat[:len(stat)/2]); err == nil {
		t.Errorf("BlockedIO of half a file = %v", s)
	}
	if waits, preemptions, err := Switches(status); waits != 4711 || preemptions != 9 || err != nil {
		t.Errorf("Switches = %d, %d, %v, want 4711 and 9", waits, preemptions, err)
	}
	if n := testing.AllocsPerRun(10, func() { _, _, _ = Switches(status) }); n > 8 {
		t.Errorf("Switches takes %v allocations; lines with other names should take none", n)
	}
	for _, bad := range []string{"", "voluntary_ctxt_switches:\t1\n", "voluntary_ctxt_switches:\t1\nnonvoluntary_ctxt_switches:\t-1\n"} {
		if waits, preemptions, err := Switches([]byte(bad)); err == nil {
			t.Errorf("Switches(%q) = %d, %d", bad, waits, preemptions)
		}
	}
}

func TestListenOverflows(t *testing.T) {
	netstat := string(fixture(t, "netstat"))
	if n, err := ListenOverflows([]byte(netstat)); n != 12 || err != nil {
		t.Errorf("%d, %v, want 12", n, err)
	}
	for name, bad := range map[string]string{
		"empty":         "",
		"names alone":   "TcpExt: TW ListenOverflows\n",
		"another group": strings.ReplaceAll(netstat, "TcpExt:", "UdpExt:"),
		"cut short":     "TcpExt: TW ListenOverflows\nTcpExt: 5\n",
		"no number":     "TcpExt: ListenOverflows\nTcpExt: many\n",
		"negative":      "TcpExt: ListenOverflows\nTcpExt: -1\n",
	} {
		if n, err := ListenOverflows([]byte(bad)); err == nil {
			t.Errorf("%s: %d", name, n)
		}
	}
}
