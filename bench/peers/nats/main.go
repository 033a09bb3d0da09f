// Command nats starts a NATS server with JetStream and sync_interval: always, as a process of its
// own, lets writers publish records of 256 bytes to a stream, and prints the acknowledged ones as
// the windows of a job.
//
//	nats --writers 64 --data DIR                one record after the other on each connection
//	nats --writers 8 --batch 64 --data DIR      atomic batches
//	nats --outstanding 512 --data DIR          one publisher that waits for no single acknowledgement
//
// It is not for JetStream as it comes, which syncs every two minutes. The server has ended when it
// ends.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"dyno/bench/peers/callers"
	"dyno/parts/progress"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

func main() {
	writers := flag.Int("writers", 64, "connections, each with one append after the other")
	batch := flag.Int("batch", 1, "records in an append; several are an atomic batch")
	outstanding := flag.Int("outstanding", 0, "records that one publisher has sent and that are not acknowledged; 0: writers")
	dir := flag.String("data", "", "`folder` of the stream, on the disk in question")
	serve := flag.Bool("serve", false, "be the server, and print its URL")
	flag.Parse()
	callers.Main("nats", func(ctx context.Context) error {
		if *dir == "" {
			return errors.New("--data is missing: the folder of the stream")
		}
		if *serve {
			return serveStream(ctx, *dir, os.Stdout)
		}
		url, stop, err := callers.Self("--serve", "--data", *dir)
		if err != nil {
			return err
		}
		defer stop()
		if err := makeStream(ctx, url); err != nil {
			return err
		}
		if *outstanding > 0 {
			w := progress.New(os.Stdout)
			err := publishAsync(ctx, w, url, *outstanding)
			return errors.Join(err, w.Close(err))
		}
		return callers.Run(ctx, os.Stdout, *writers, *batch, func(int) (func() error, error) { return publisher(ctx, url, *batch) })
	})
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
