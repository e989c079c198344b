package endpoint_test

import (
	"fmt"
	"net/http"
	"os"
	"testing"

	"go.uber.org/goleak"

	"frontpage/tests/redistest"
)

// TestMain fails if the tests, which open and leave streams of every kind, leave a goroutine or a connection.
func TestMain(m *testing.M) {
	before := descriptors()
	code := m.Run()
	redistest.End()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	if err := goleak.Find(); code == 0 && err != nil { // it waits a while for goroutines to end
		fmt.Fprintln(os.Stderr, "after the tests:", err)
		code = 1
	}
	if after, most := descriptors(), before+descriptorsOfRuntime; code == 0 && after > most {
		fmt.Fprintf(os.Stderr, "after the tests: got %d open descriptors, want at most %d\n", after, most)
		code = 1
	}
	os.Exit(code)
}

// descriptorsOfRuntime are those that Go opens once, for polling.
const descriptorsOfRuntime = 4

// descriptors returns the number of open files and connections, or -1 where that is not known.
func descriptors() int {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(open)
}
