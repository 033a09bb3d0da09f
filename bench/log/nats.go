package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"dyno/lab/target"
	"dyno/parts/process"
	walstream "dyno/services/notify/jetstream"
)

// natsWord, as the first argument, makes this program a NATS server: nats-server DIR.
const natsWord = "nats-server"

const (
	streamName = "bench"
	// outstanding is how many publishes may wait for their acknowledgements.
	outstanding = 4096
	// stopGrace is how long a server may take to end.
	stopGrace = 10 * time.Second
)

// natsMain serves JetStream with sync_interval: always until it is told to stop.
func natsMain(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: log %s DIR", natsWord)
	}
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: args[0], SyncAlways: true,
	})
	if err != nil {
		return err
	}
	s.Start()
	defer func() { s.Shutdown(); s.WaitForShutdown() }()
	if !s.ReadyForConnections(20 * time.Second) {
		return errors.New("the NATS server does not come up")
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]string{"listen": s.ClientURL()}); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func startNATS(ctx context.Context, e environment) (*process.Process, string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	p, err := target.Start(ctx, process.Spec{Name: natsWord, Command: []string{self, natsWord, e.dir}, ReadyLine: true})
	if err != nil {
		return nil, "", err
	}
	return p, p.Ready()["listen"], nil
}

// onNATS starts a server with an empty stream, and hands both to use.
func onNATS(ctx context.Context, e environment, use func(o *opened, url string, js jetstream.JetStream) error) (_ *opened, err error) {
	p, url, err := startNATS(ctx, e)
	if err != nil {
		return nil, err
	}
	o := &opened{pid: p.PID(), close: func() error { return p.Stop(stopGrace) }}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.close())
		}
	}()
	nc, err := nats.Connect(url)
	if err != nil {
		return nil, err
	}
	o.close = func() error { nc.Close(); return p.Stop(stopGrace) }
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(outstanding))
	if err != nil {
		return nil, err
	}
	_, err = js.CreateStream(ctx, jetstream.StreamConfig{Name: streamName, Subjects: []string{streamName}, Storage: jetstream.FileStorage, AllowAtomicPublish: true})
	if err != nil {
		return nil, err
	}
	return o, use(o, url, js)
}

// jetstreamAsync keeps as many publishes outstanding as it may and takes their acknowledgements in order.
func jetstreamAsync(ctx context.Context, e environment) (*opened, error) {
	return onNATS(ctx, e, func(o *opened, _ string, js jetstream.JetStream) error {
		record := records(1, recordBytes)[0]
		o.window = func(ctx context.Context, acknowledged func(time.Time)) error {
			type publish struct {
				ack  jetstream.PubAckFuture
				sent time.Time
			}
			sent := make(chan publish, outstanding-1) // and the one that is waited for
			ended := make(chan error, 1)
			go func() {
				for p := range sent {
					select {
					case <-p.ack.Ok():
						acknowledged(p.sent)
					case err := <-p.ack.Err():
						ended <- err
						for range sent { // the publisher must not wait for room
						}
						return
					}
				}
				ended <- nil
			}()
			var err error
			for ctx.Err() == nil && err == nil && len(ended) == 0 {
				now := time.Now()
				var ack jetstream.PubAckFuture
				if ack, err = js.PublishAsync(streamName, record, jetstream.WithStallWait(10*time.Second)); err == nil {
					sent <- publish{ack, now}
				}
			}
			close(sent)
			return errors.Join(err, <-ended)
		}
		return nil
	})
}

// jetstreamAtomic publishes atomic batches: the last message commits and is answered.
func jetstreamAtomic(ctx context.Context, e environment) (*opened, error) {
	return onNATS(ctx, e, func(o *opened, url string, _ jetstream.JetStream) error {
		batch := records(e.batch, recordBytes)
		o.caller = func(int) (func() error, error) {
			nc, err := nats.Connect(url) // ends with the process
			if err != nil {
				return nil, err
			}
			return func() error { return publishAtomic(nc, batch) }, nil
		}
		return nil
	})
}

func publishAtomic(nc *nats.Conn, batch [][]byte) error {
	id := nuid.Next()
	for i, record := range batch {
		m := &nats.Msg{Subject: streamName, Data: record, Header: nats.Header{
			"Nats-Batch-Id":       {id},
			"Nats-Batch-Sequence": {strconv.Itoa(i + 1)},
		}}
		if i < len(batch)-1 {
			if err := nc.PublishMsg(m); err != nil {
				return err
			}
			continue
		}
		m.Header["Nats-Batch-Commit"] = []string{"1"}
		answer, err := nc.RequestMsg(m, 30*time.Second)
		if err != nil {
			return err
		}
		var ack struct {
			Count int             `json:"count"`
			Error json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal(answer.Data, &ack); err != nil || ack.Error != nil || ack.Count != len(batch) {
			return fmt.Errorf("a batch was answered with %.200q", answer.Data)
		}
	}
	return nil
}

// jetstreamLog measures parts/wal/jetstream.
func jetstreamLog(ctx context.Context, e environment) (*opened, error) {
	p, url, err := startNATS(ctx, e)
	if err != nil {
		return nil, err
	}
	b, err := walstream.Open(ctx, walstream.Config{URL: url, Stream: streamName})
	o, err := logOf(b, err, e, group)
	if err != nil {
		return nil, errors.Join(err, p.Stop(stopGrace))
	}
	o.pid = p.PID()
	closeLog := o.close
	o.close = func() error { return errors.Join(closeLog(), p.Stop(stopGrace)) }
	return o, nil
}
