package soak

import (
	"testing"

	"dyno/services/orders/pgtest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	pgtest.Main(m,
		// sleeps for up to 10 s before it ends
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
		// one per process
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"))
}
