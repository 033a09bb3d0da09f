package perf

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// threadsOf samples the threads of this process. Opening a ring buffer fails with err once there
// are room of them.
func threadsOf(room int, err error) (*threads, error) {
	all := &threads{rings: map[int]*ring{}, left: map[int]bool{}}
	all.open = func(int) (*ring, error) {
		if len(all.rings) >= room {
			return nil, err
		}
		return &ring{}, nil
	}
	return all, all.follow(os.Getpid())
}

// The process of the test has several threads: the runtime starts sysmon, which watches the others.
func TestThreadsWithoutRoom(t *testing.T) {
	full := fmt.Errorf("%w: of some kind", errNoRoom)
	some, err := threadsOf(1, full)
	if err != nil || len(some.rings) != 1 || len(some.left) == 0 {
		t.Fatalf("%d sampled, %d left out: %v", len(some.rings), len(some.left), err)
	}
	want := strconv.Itoa(len(some.left)) + " of " + strconv.Itoa(len(some.left)+1) + " threads were left out: " + full.Error()
	if got := some.missing(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if _, err := threadsOf(0, full); !errors.Is(err, ErrUnsupported) || !errors.Is(err, errNoRoom) {
		t.Errorf("none can be sampled: %v", err)
	}
	if _, err := threadsOf(1, unix.EACCES); !errors.Is(err, ErrUnsupported) {
		t.Errorf("one is forbidden: %v", err)
	}
	if ended, err := threadsOf(1, unix.ESRCH); err != nil || ended.missing() != "" {
		t.Errorf("others have ended: %v, %q", err, ended.missing())
	}
}

func TestWhySamplingFails(t *testing.T) {
	for _, tt := range []struct {
		err    error
		noRoom bool
		want   string
	}{
		{unix.EACCES, false, "perf_event_paranoid"},
		{unix.EPERM, false, "CAP_PERFMON"},
		{unix.EMFILE, true, "RLIMIT_NOFILE"},
		{unix.ENOMEM, true, "cannot allocate"},
	} {
		if err := whyNotOpened(tt.err); !errors.Is(err, tt.err) || errors.Is(err, errNoRoom) != tt.noRoom || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v became %v", tt.err, err)
		}
	}
	if _, err := mapRing(-1); !errors.Is(err, errNoRoom) || !strings.Contains(err.Error(), "perf_event_mlock_kb") || !strings.Contains(err.Error(), "RLIMIT_MEMLOCK") {
		t.Errorf("%v", err)
	}
}

func TestParse(t *testing.T) {
	inKernel := laidOut(0xffffffff81000000, contextKernel, 0xffffffff81000000, contextUser, 0x401000, 0x402000)
	computing := laidOut(0x403000, contextUser, 0x403000, 0x404000)
	b := append(append([]byte{}, inKernel...), computing...)
	want := []sample{{true, []uint64{0x401000, 0x402000}}, {false, []uint64{0x403000, 0x404000}}}
	if got := parse(b); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if got := parse(b[:len(b)-1]); len(got) != 1 {
		t.Errorf("what is cut off was read: %+v", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(laidOut(1, contextUser, 2, 3))
	f.Add([]byte{9, 0, 0, 0, 0, 0, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, s := range parse(b) {
			if len(s.stack) == 0 {
				t.Fatal("a sample without a stack")
			}
		}
	})
}
