// Command render prints what a directory of manifests renders to, decoded
// strictly, as JSON: for tests outside of this module.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"sessionfold/deploy/k8stest/rendered"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: render DIR")
		os.Exit(2)
	}
	d, err := rendered.Render(os.Args[1])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(d)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
}
