//go:build nats

package cli

import (
	"sim/scenarios/queue"
	"sim/scenarios/queue/embedded"
)

// embedServer starts the server for --queue embedded.
var embedServer queue.ServerStarter = func(address, token string, log func(string, ...any)) (queue.Server, error) {
	return embedded.Start(address, token, log)
}
