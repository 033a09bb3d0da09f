package memdb

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestAnswersAfterItsLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := sql.OpenDB(Connector{Latency: 3 * time.Millisecond})
		defer db.Close()
		began := time.Now()
		var name string
		if err := db.QueryRowContext(t.Context(), Query, 27).Scan(&name); err != nil || name != "item b" {
			t.Errorf("%q, %v", name, err)
		}
		if took := time.Since(began); took != 3*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		hasty, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := db.QueryRowContext(hasty, Query, 1).Scan(&name); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("past its deadline: %v", err)
		}
	})
}

func TestRefusesWhatItDoesNotKnow(t *testing.T) {
	db := sql.OpenDB(Connector{})
	defer db.Close()
	var name string
	if err := db.QueryRow("SELECT 1").Scan(&name); err == nil {
		t.Error("answered a query that it does not know")
	}
	if err := db.QueryRow(Query, "x").Scan(&name); err == nil {
		t.Error("answered for an id that is none")
	}
	if _, err := db.Begin(); err == nil {
		t.Error("began a transaction")
	}
}
