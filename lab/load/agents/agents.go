// Package agents shares a load of requests between processes, on this machine or others. A Group,
// the coordinator's side, is a source of load.Drivers: each splits one schedule between the agents,
// starts them at one instant, and enters their windows into one recording, as if one generator had
// sent all. Request k goes to agent k mod N, so that together they send exactly what one would.
//
// An agent checks its own host's permission, sends with the engines that the lab itself uses, and
// counts latency on its own clock. Windows, start and latest answer are translated between clocks,
// whose offset is estimated from round trips, with its error.
//
// Messages pass through a Network (package natsbus has the one for NATS), and are not trusted:
// every field is checked. The package is not for jobs, sessions, deliveries or rows that are sent
// once. A Group owns one goroutine until Close; Serve and a drive own theirs and wait for them.
package agents

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"time"
)

// Network carries messages between the processes, in order, each at most once.
type Network interface {
	// Publish sends a message to those that subscribe to its subject.
	Publish(subject string, message []byte) error
	// Request sends a message and returns the answer. It returns ErrNoReceiver if no process
	// subscribes to the subject.
	Request(ctx context.Context, subject string, message []byte) ([]byte, error)
	// Subscribe calls take with each message to a subject, one after the other, until stop is
	// called. What take returns is the answer. A call may still be running when stop returns.
	Subscribe(subject string, take func(message []byte) []byte) (stop func(), err error)
}

// ErrNoReceiver means that no process subscribes to a subject.
var ErrNoReceiver = errors.New("no process receives this message")

// Subjects. Their prefix has the version of the messages.
const (
	helloSubject = "dyno.v2.hello"
	orderSubject = "dyno.v2.order." // and the agent
	clockSubject = "dyno.v2.clock." // and the agent
	driveSubject = "dyno.v2.drive." // the drive, and the agent's place in it
)

const (
	// beat is the interval at which agents announce themselves, and a coordinator shows that it is
	// alive.
	beat = 500 * time.Millisecond
	// silence is the time after which a silent process counts as dead: long enough for a machine
	// whose CPUs are all taken.
	silence = 6 * time.Second
	// asking bounds the wait for an answer, and rejoining that for an agent that takes the place of
	// a lost one.
	asking    = 5 * time.Second
	rejoining = 10 * time.Second
	// MostAgents bounds the agents of a coordinator.
	MostAgents = 1000
)

// newID returns a name that no other process or drive has.
func newID() string {
	var b [8]byte
	rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// Machine returns what is the same for all processes of this machine, and no other's.
func Machine() string {
	host, _ := os.Hostname()
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // Linux only
	return strings.TrimSpace(host + " " + string(boot))
}
