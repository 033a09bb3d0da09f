// Package agents splits a load of requests or sessions between processes, on this machine or on
// others. A Group is the coordinator's side: it makes load.Drivers that split one schedule between the
// agents, start them all at the same instant, and merge their windows into one recording, as if
// one generator had sent all requests. Request k goes to agent k mod N, so that together the
// agents send exactly what one generator would. Of sessions, the k-th is opened by agent k mod N,
// which sends its messages; the start is set when all agents have opened theirs.
//
// Each agent checks whether its own host may be loaded, sends with the engines that the lab
// itself uses, and measures latency on its own clock. The coordinator translates the start for
// the agents' clocks, and windows and latest answers back. It estimates each clock's offset, and
// the error, from round trips.
//
// Messages pass through a Network (package natsbus has the one for NATS). They are not trusted:
// every field is checked. The package does not split jobs, deliveries, or rows that are sent
// once. A Group owns one goroutine until Close; Serve and a drive own theirs and wait for
// them.
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

// Network carries messages between processes, in order, each at most once.
type Network interface {
	// Publish sends a message to those that subscribe to its subject.
	Publish(subject string, message []byte) error
	// Request sends a message and returns the answer. It returns ErrNoReceiver if no process
	// subscribes to the subject.
	Request(ctx context.Context, subject string, message []byte) ([]byte, error)
	// Subscribe calls take with each message to a subject, one after the other, until stop is
	// called; take returns the answer. A call of take may still be running when stop returns.
	Subscribe(subject string, take func(message []byte) []byte) (stop func(), err error)
}

// ErrNoReceiver means that no process subscribes to a subject.
var ErrNoReceiver = errors.New("no process receives this message")

// Subjects. Their prefix contains the version of the message format.
const (
	helloSubject = "dyno.v3.hello"
	orderSubject = "dyno.v3.order." // followed by the agent's ID
	clockSubject = "dyno.v3.clock." // likewise
	driveSubject = "dyno.v3.drive." // followed by the drive's ID and the agent's index in the drive
)

const (
	// beat is the interval at which agents announce themselves, and at which the coordinator
	// shows them that it is alive.
	beat = 500 * time.Millisecond
	// silence is the time after which a silent process counts as dead: long enough even for a
	// machine whose CPUs are all busy.
	silence = 6 * time.Second
	// asking bounds the wait for an answer; rejoining bounds the wait for an agent that replaces
	// a lost one.
	asking    = 5 * time.Second
	rejoining = 10 * time.Second
	// MostAgents bounds the agents of a coordinator.
	MostAgents = 1000
)

// newID returns a random ID for a process or a drive.
func newID() string {
	var b [8]byte
	rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// Machine returns a text that is the same for all processes of this machine, and differs from
// that of any other machine.
func Machine() string {
	host, _ := os.Hostname()
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // Linux only
	return strings.TrimSpace(host + " " + string(boot))
}
