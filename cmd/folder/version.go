package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is what this build says of itself.
type version struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"`
	Modified bool   `json:"modified,omitempty"` // built from a changed tree
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func buildVersion() version {
	v := version{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.time":
			v.Date = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func versionCommand(c *cli) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this build",
		Args:  args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			v := buildVersion()
			if asJSON {
				return json.NewEncoder(c.out).Encode(v)
			}
			fmt.Fprintf(c.out, "folder %s", v.Version)
			if v.Commit != "" {
				fmt.Fprintf(c.out, " %.12s %s", v.Commit, v.Date)
			}
			if v.Modified {
				fmt.Fprint(c.out, " modified")
			}
			fmt.Fprintf(c.out, " %s %s\n", v.Go, v.Platform)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
