//go:build !nats

package cli

import "sim/scenarios/queue"

// embedServer starts the server for --queue embedded; it is nil because this build has no
// server.
var embedServer queue.ServerStarter
