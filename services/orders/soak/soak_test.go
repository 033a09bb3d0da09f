package soak

import (
	"testing"

	"dyno/services/orders/postgres/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }
