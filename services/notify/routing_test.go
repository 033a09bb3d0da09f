package notify

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"dyno/parts/assembly"
	"dyno/parts/wal"
	"dyno/parts/wal/memory"
	"dyno/services/notify/dispatch"
	"dyno/services/notify/notice"
)

// unreachable answers no webhook.
type unreachable struct{}

func (unreachable) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("unreachable")
}

// tapped is a log's backend that shows what is written to it.
type tapped struct {
	wal.Backend
	wrote func(record []byte)
}

func (w *tapped) Write(batches [][][]byte) error {
	for _, batch := range batches {
		for _, record := range batch {
			w.wrote(record)
		}
	}
	return w.Backend.Write(batches)
}

// A notice goes to the subscriptions that want it when it is durable, although others may have
// wanted it when it was admitted.
func TestSubscriptionsChangeWhileANoticeIsWritten(t *testing.T) {
	address, other, off := "http://192.0.2.1/a", []string{"other"}, true
	for what, c := range map[string]struct {
		change func(table *dispatch.Table, id string) error
		want   int
	}{
		"nothing": {func(*dispatch.Table, string) error { return nil }, 1},
		"another": {func(table *dispatch.Table, _ string) error {
			_, _, err := table.Subscribe(dispatch.SubscriptionRequest{URL: &address})
			return err
		}, 2},
		"other types": {func(table *dispatch.Table, id string) error {
			_, _, err := table.Update(id, dispatch.SubscriptionRequest{Types: &other})
			return err
		}, 0},
		"disabled": {func(table *dispatch.Table, id string) error {
			_, _, err := table.Update(id, dispatch.SubscriptionRequest{Disabled: &off})
			return err
		}, 0},
		"deleted": {(*dispatch.Table).Unsubscribe, 0},
	} {
		t.Run(what, func(t *testing.T) {
			choice, err := Assembly().Resolve(assembly.Tuned, nil)
			if err != nil {
				t.Fatal(err)
			}
			notices := &tapped{Backend: memory.New()}
			config := FromChoice(choice)
			config.AllowPrivate, config.testing.withoutKeeping, config.testing.transport = true, true, unreachable{}
			config.testing.openBackend = func(_ dispatch.StoreOptions, name string) (wal.Backend, error) {
				if name == dispatch.NoticesName {
					return notices, nil
				}
				return memory.New(), nil
			}
			d, err := New(config)
			if err != nil {
				t.Fatal(err)
			}
			sub, _, err := d.table.Subscribe(dispatch.SubscriptionRequest{URL: &address})
			if err != nil {
				t.Fatal(err)
			}
			notices.wrote = func([]byte) {
				if err := c.change(d.table, sub.ID); err != nil {
					t.Error(err)
				}
			}
			_, deliveries, err := d.acceptor.Accept(context.Background(), []*notice.Notice{aNotice("1", "k", "t")})
			if err != nil || deliveries != c.want {
				t.Errorf("%d deliveries, want %d; %v", deliveries, c.want, err)
			}
			if left, err := d.Close(context.Background()); err != nil || left != c.want || d.count() != left {
				t.Errorf("%d are left, want %d, and counted are %d; %v", left, c.want, d.count(), err)
			}
		})
	}
}
