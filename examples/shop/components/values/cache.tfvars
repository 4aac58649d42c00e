size_mb = 64
subnet  = "{{ (.nuon.components.network.outputs).first_subnet | default "none" }}"
