package soak

import (
	"testing"

	"dyno/services/orders/postgres/pgtest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	pgtest.Main(m,
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"), // sleeps for up to 10 s before it sees that it is to end
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"))    // one for the whole process
}
