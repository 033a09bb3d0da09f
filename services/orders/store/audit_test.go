package store

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/services/orders/database"
	"dyno/services/orders/order"
)

const partitions = "SELECT coalesce(string_agg(c.relname, ' ' ORDER BY c.relname), '') FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'audit'::regclass"

func month(now time.Time, ahead int) string {
	return time.Date(now.UTC().Year(), now.UTC().Month()+time.Month(ahead), 1, 0, 0, 0, 0, time.UTC).Format("audit_2006_01")
}

func TestAuditIsAppendOnly(t *testing.T) {
	s, conn := open(t, Options{})
	submit(t, s, "A1", buy(1))
	now := get[time.Time](t, conn, "SELECT max(at) FROM audit")
	for _, table := range []string{"audit", month(now, 0), month(now, 1), "audit_default"} {
		refused(t, conn, "OR003", "UPDATE "+table+" SET account = 'A2'")
		refused(t, conn, "OR003", "DELETE FROM "+table)
		refused(t, conn, "OR003", "TRUNCATE "+table)
	}
	if n := get[int](t, conn, "SELECT count(*) FROM "+month(now, 0)); n != 1 {
		t.Errorf("%d records in this month's partition", n)
	}
}

// Partitions are made ahead, also by concurrent callers, and old ones are dropped whole.
func TestAuditPartitions(t *testing.T) {
	s, conn := open(t, Options{})
	s.endBackground()
	now := get[time.Time](t, conn, "SELECT now()")
	want := strings.Join([]string{month(now, 0), month(now, 1), month(now, 2), "audit_default"}, " ")
	if got := get[string](t, conn, partitions); got != want {
		t.Fatalf("partitions %s, want %s", got, want)
	}

	// Three old ones; only the youngest ended within what is kept.
	exec(t, conn, "DROP TABLE "+month(now, 2))
	for ahead := -4; ahead <= -2; ahead++ {
		from := time.Date(now.UTC().Year(), now.UTC().Month()+time.Month(ahead), 1, 0, 0, 0, 0, time.UTC)
		exec(t, conn, "CREATE TABLE "+month(now, ahead)+" PARTITION OF audit FOR VALUES FROM ('"+from.Format(time.RFC3339)+"') TO ('"+from.AddDate(0, 1, 0).Format(time.RFC3339)+"')")
	}
	exec(t, conn, "INSERT INTO audit (at, account, uid, kind, client_order_id, message) VALUES (now() - interval '80 years', 'A1', 1, 1, 'c', '')")
	s.options.AuditRetention = 0
	if err := database.KeepAudit(t.Context(), s.options.DSNs[0], s.options.AuditRetention, s.options.Log); err != nil {
		t.Fatal(err)
	}
	ancient := month(now, -80*12) // whose record came into the default partition
	if got, all := get[string](t, conn, partitions), strings.Join([]string{ancient, month(now, -4), month(now, -3), month(now, -2), want}, " "); got != all {
		t.Fatalf("kept %s, want %s", got, all)
	}
	s.options.AuditRetention = time.Since(time.Date(now.UTC().Year(), now.UTC().Month()-1, 1, 0, 0, 0, 0, time.UTC)) + time.Hour
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := database.KeepAudit(t.Context(), s.options.DSNs[0], s.options.AuditRetention, s.options.Log); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got, kept := get[string](t, conn, partitions), month(now, -2)+" "+want; got != kept {
		t.Errorf("partitions %s, want %s", got, kept)
	}
	if n := get[int](t, conn, "SELECT count(*) FROM audit"); n != 0 {
		t.Errorf("%d records are left", n)
	}
}

// Records in the default partition, because theirs was not made in time, are moved as soon as it is
// made.
func TestAuditLate(t *testing.T) {
	s, conn := open(t, Options{})
	s.endBackground()
	now := get[time.Time](t, conn, "SELECT now()")
	exec(t, conn, "DROP TABLE "+month(now, 0))
	submit(t, s, "A1", buy(1))
	exec(t, conn, "INSERT INTO audit (at, account, uid, kind, client_order_id, message) VALUES ('infinity', 'A1', 1, 1, 'c', '')")
	const records = "SELECT string_agg(a::text, ' ' ORDER BY id) FROM audit a"
	before := get[string](t, conn, records)
	exec(t, conn, "DROP TABLE "+month(now, 2))
	if err := database.Migrate(t.Context(), s.options.DSNs[0], 0, 1); err != nil {
		t.Fatal(err)
	}
	if got, want := get[string](t, conn, partitions), month(now, 0)+" "+month(now, 1)+" "+month(now, 2)+" audit_default"; got != want {
		t.Errorf("partitions %s, want %s", got, want)
	}
	if after := get[string](t, conn, records); after != before {
		t.Errorf("records %s, before %s", after, before)
	}
	if n := get[int](t, conn, "SELECT count(*) FROM audit_default"); n != 1 { // of no month
		t.Errorf("%d records in the default partition", n)
	}
	for _, table := range []string{month(now, 0), "audit_default"} {
		refused(t, conn, "OR003", "DELETE FROM "+table)
	}
	submit(t, s, "A1", buy(2))
	if n := get[int](t, conn, "SELECT count(*) FROM "+month(now, 0)); n != 2 {
		t.Errorf("%d records in this month's partition", n)
	}
}

// Who reads the audit for long keeps no gateway from starting, and none that starts keeps others
// from submitting.
func TestAuditIsRead(t *testing.T) {
	s, conn := open(t, Options{})
	s.endBackground()
	last := month(get[time.Time](t, conn, "SELECT now()"), 2)
	exec(t, conn, "DROP TABLE "+last)
	reader := connect(t, s.options.DSNs[0])
	exec(t, reader, "BEGIN")
	exec(t, reader, "SELECT count(*) FROM audit")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	started, err := Open(ctx, completed(Options{DSNs: s.options.DSNs}))
	if err != nil {
		t.Fatal(err)
	}
	defer started.Close()
	submit(t, started, "A1", buy(1))
	if err := database.KeepAudit(t.Context(), started.options.DSNs[0], started.options.AuditRetention, started.options.Log); !errors.Is(err, order.ErrUnavailable) { // which is logged
		t.Error(err)
	}
	if has := strings.Contains(get[string](t, conn, partitions), last); has {
		t.Error("the partition was made in spite of the reader's lock")
	}
	exec(t, reader, "ROLLBACK")
	if err := database.KeepAudit(t.Context(), started.options.DSNs[0], started.options.AuditRetention, started.options.Log); err != nil {
		t.Error(err)
	}
	if has := strings.Contains(get[string](t, conn, partitions), last); !has {
		t.Error("the partition is not made up for")
	}
}
