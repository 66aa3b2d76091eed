//go:build unix && !nats

package main

func init() { badInputs = append(badInputs, "noqueue") }
