package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"dyno/bench/peers/callers"
	"dyno/parts/progress"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// openNATS starts a NATS server with JetStream and sync_interval: always, as a process of its own.
func openNATS(ctx context.Context, o options) (opened, error) {
	url, stop, err := callers.Self("--serve", "--data", o.dir)
	if err != nil {
		return opened{}, err
	}
	if err := makeStream(ctx, url); err != nil {
		stop()
		return opened{}, err
	}
	return opened{
		writer: func() (func() error, error) { return publisher(ctx, url, o.batch) },
		stream: func(ctx context.Context, w *progress.Writer, outstanding int) error {
			return publishAsync(ctx, w, url, outstanding)
		},
		close: func() error { stop(); return nil },
	}, nil
}

const subject = "records"

// serveStream serves JetStream until ctx ends, and prints its URL when it is ready.
func serveStream(ctx context.Context, dir string, ready io.Writer) error {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: dir, SyncAlways: true})
	if err != nil {
		return err
	}
	s.Start()
	defer func() { s.Shutdown(); s.WaitForShutdown() }()
	if !s.ReadyForConnections(20 * time.Second) {
		return errors.New("the NATS server did not start within 20s")
	}
	fmt.Fprintln(ready, s.ClientURL())
	<-ctx.Done()
	return nil
}

func makeStream(ctx context.Context, url string) error {
	nc, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err == nil {
		_, err = js.CreateStream(ctx, jetstream.StreamConfig{Name: subject, Subjects: []string{subject}, Storage: jetstream.FileStorage, AllowAtomicPublish: true})
	}
	return err
}

// publisher returns what publishes on a connection of its own, which ends with the process.
func publisher(ctx context.Context, url string, batch int) (func() error, error) {
	nc, err := nats.Connect(url)
	if err != nil {
		return nil, err
	}
	records := callers.Records(batch)
	if batch > 1 {
		return func() error { return publishAtomic(nc, records) }, nil
	}
	js, err := jetstream.New(nc)
	return func() error { _, err := js.Publish(ctx, subject, records[0]); return err }, err
}

// publishAtomic publishes a batch, which its last message commits.
func publishAtomic(nc *nats.Conn, batch [][]byte) error {
	id, last := nuid.Next(), len(batch)-1
	for i, record := range batch {
		m := &nats.Msg{Subject: subject, Data: record, Header: nats.Header{"Nats-Batch-Id": {id}, "Nats-Batch-Sequence": {strconv.Itoa(i + 1)}}}
		if i < last {
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

// publishAsync keeps records outstanding and takes their acknowledgements in order.
func publishAsync(ctx context.Context, w *progress.Writer, url string, outstanding int) error {
	nc, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(outstanding))
	if err != nil {
		return err
	}
	type publish struct {
		ack  jetstream.PubAckFuture
		sent time.Time
	}
	record, sent := callers.Records(1)[0], make(chan publish, outstanding)
	ctx, fail := context.WithCancelCause(ctx)
	acknowledged := make(chan struct{})
	go func() {
		defer close(acknowledged)
		for p := range sent {
			select {
			case <-p.ack.Ok():
				w.Done(time.Since(p.sent), 0, false)
			case err := <-p.ack.Err():
				fail(err)
			case <-ctx.Done():
			}
		}
	}()
	for ctx.Err() == nil {
		now := time.Now()
		ack, err := js.PublishAsync(subject, record, jetstream.WithStallWait(10*time.Second))
		if err != nil {
			fail(err)
			break
		}
		sent <- publish{ack, now}
	}
	close(sent)
	<-acknowledged
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
